CREATE TABLE `log_day` (
	`account_id` text NOT NULL,
	`day` text NOT NULL,
	`taken_bytes` integer NOT NULL,
	`full_since` integer,
	PRIMARY KEY(`account_id`, `day`),
	FOREIGN KEY (`account_id`) REFERENCES `account`(`id`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
CREATE INDEX `log_day_day` ON `log_day` (`day`);