CREATE TABLE `endpoint_release` (
	`endpoint_id` text NOT NULL,
	`version` integer NOT NULL,
	`account_id` text NOT NULL,
	`api_key_id` text NOT NULL,
	`changes` text NOT NULL,
	`created_at` integer NOT NULL,
	PRIMARY KEY(`endpoint_id`, `version`),
	FOREIGN KEY (`endpoint_id`) REFERENCES `endpoint`(`id`) ON UPDATE no action ON DELETE cascade,
	FOREIGN KEY (`account_id`) REFERENCES `account`(`id`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
ALTER TABLE `template` ADD `allowed_cuda_versions` text;