"""Pure: proposes an autoscaler for a workload from its recorded series, and says what each choice costs."""
