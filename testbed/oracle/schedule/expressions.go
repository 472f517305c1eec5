package main

import (
	"fmt"
	"math/rand"
	"strings"
)

func picked() []string {
	return []string{
		"0 8 * * 1-5", "0 8 * * MON-FRI", "30 2 * * *", "0 2 * * *", "0 3 * * *", "15 1 * * *", "45 1 * * sun", "*/30 * * * *",
		"0 0 * * *", "59 23 * * *", "0 0 1 * *", "0 0 29 2 *", "0 0 31 * *", "0 0 30 2 *", "0 12 13 * 5", "0 12 13 * FRI",
		"0 12 */2 * 5", "0 12 * * 5,*", "0 12 ? * ?", "@yearly", "@annually", "@monthly", "@weekly", "@daily", "@midnight", "@hourly",
		"0 9-17/2 * 6-8 *", "5/20 4 * JAN,jul *", "10-30/7 6 1-7 * 1", "0 0 1-7 * *", "0 6 1,15 * 0", "0,30 1-3 * 3,4,9,10,11 0",
		"0 22 * 12 */3", "7 7 7 7 *", "*/7 */5 */9 1-3 *",
	}
}

// In zones where clocks are put forward at midnight, robfig/cron matches a day that follows the change although its
// day fields exclude it. Expressions that allow every day are not affected.
func daytime() []string {
	return []string{"0 8 * * *", "30 2 * * *", "*/30 * * * *", "0 0 * * *", "30 0 * * *", "0 23 * * *", "15 1 * * *", "@hourly"}
}

func refused() []string {
	return []string{
		"", "* * * *", "* * * * * *", "60 * * * *", "* 24 * * *", "* * 0 * *", "* * 32 * *", "* * * 0 *", "* * * 13 *", "* * * * 7",
		"*/0 * * * *", "5-3 * * * *", "a * * * *", "* * * foo *", "1-2-3 * * * *", "*/2/3 * * * *", "-1 * * * *", "@often", "1.5 * * * *",
		"* * * * mon-sun", "5-60 * * * *", "*-5 0 1 1 *", "/5 * * * *", "5/ * * * *", ", 0 1 1 *", "1,,2 0 1 1 *", "*/90 0 1 1 *",
	}
}

func random(count int) []string {
	source := rand.New(rand.NewSource(20261122))
	number := func(low, high int) int { return low + source.Intn(high-low+1) }
	part := func(low, high int) string {
		switch source.Intn(5) {
		case 0:
			first := number(low, high)
			return fmt.Sprintf("%d-%d", first, number(first, high))
		case 1:
			first := number(low, high)
			return fmt.Sprintf("%d-%d/%d", first, number(first, high), number(1, 7))
		case 2:
			return fmt.Sprintf("*/%d", number(1, 9))
		case 3:
			return fmt.Sprintf("%d/%d", number(low, high), number(1, 9))
		default:
			return fmt.Sprint(number(low, high))
		}
	}
	field := func(low, high, any int) string {
		if source.Intn(10) < any {
			return "*"
		}
		parts := []string{}
		for range 1 + source.Intn(3) {
			parts = append(parts, part(low, high))
		}
		return strings.Join(parts, ",")
	}
	expressions := []string{}
	for range count {
		expressions = append(expressions, strings.Join([]string{
			fmt.Sprint(number(0, 59)), field(0, 23, 1), field(1, 31, 5), field(1, 12, 5), field(0, 6, 5),
		}, " "))
	}
	return expressions
}
