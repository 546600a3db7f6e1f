CREATE TABLE `usage_hour` (
	`endpoint_id` text NOT NULL,
	`hour` integer NOT NULL,
	`account_id` text NOT NULL,
	`endpoint_name` text DEFAULT '' NOT NULL,
	`requests` integer DEFAULT 0 NOT NULL,
	`completed` integer DEFAULT 0 NOT NULL,
	`failed` integer DEFAULT 0 NOT NULL,
	`cancelled` integer DEFAULT 0 NOT NULL,
	`timed_out` integer DEFAULT 0 NOT NULL,
	`expired` integer DEFAULT 0 NOT NULL,
	`retried` integer DEFAULT 0 NOT NULL,
	`cold_starts` integer DEFAULT 0 NOT NULL,
	`delay_ms` integer DEFAULT 0 NOT NULL,
	`execution_ms` integer DEFAULT 0 NOT NULL,
	`worker_ms` integer DEFAULT 0 NOT NULL,
	`gpus` text DEFAULT '[]' NOT NULL,
	`jobs_at` integer DEFAULT 0 NOT NULL,
	PRIMARY KEY(`endpoint_id`, `hour`),
	FOREIGN KEY (`account_id`) REFERENCES `account`(`id`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
CREATE INDEX `usage_hour_account` ON `usage_hour` (`account_id`,`hour`);--> statement-breakpoint
CREATE INDEX `usage_hour_hour` ON `usage_hour` (`hour`);--> statement-breakpoint
CREATE TABLE `usage_progress` (
	`source` text PRIMARY KEY NOT NULL,
	`hour` integer NOT NULL
);
