"""What is measured: the three metrics APIs, asked as the HPA controller asks them."""
