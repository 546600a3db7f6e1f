CREATE TABLE `cluster` (
	`id` text PRIMARY KEY NOT NULL,
	`account_id` text NOT NULL,
	`name` text NOT NULL,
	`type` text NOT NULL,
	`gpu_type_id` text NOT NULL,
	`gpu_count_per_pod` integer NOT NULL,
	`pod_count` integer NOT NULL,
	`template_id` text,
	`created_at` integer NOT NULL,
	FOREIGN KEY (`account_id`) REFERENCES `account`(`id`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
CREATE INDEX `cluster_account` ON `cluster` (`account_id`,`created_at`);--> statement-breakpoint
ALTER TABLE `pod` ADD `cluster_id` text;--> statement-breakpoint
ALTER TABLE `pod` ADD `cluster_rank` integer;