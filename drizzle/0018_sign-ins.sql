CREATE TABLE `sign_in` (
	`id` text PRIMARY KEY NOT NULL,
	`account_id` text NOT NULL,
	`api_key_id` text NOT NULL,
	`hash` text NOT NULL,
	`is_link` integer NOT NULL,
	`client` text NOT NULL,
	`created_at` integer NOT NULL,
	`expires_at` integer NOT NULL,
	FOREIGN KEY (`account_id`) REFERENCES `account`(`id`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
CREATE UNIQUE INDEX `sign_in_hash` ON `sign_in` (`hash`);--> statement-breakpoint
CREATE INDEX `sign_in_account` ON `sign_in` (`account_id`,`created_at`);--> statement-breakpoint
CREATE INDEX `sign_in_expiry` ON `sign_in` (`expires_at`);