CREATE TABLE `webhook_secret` (
	`id` text PRIMARY KEY NOT NULL,
	`account_id` text NOT NULL,
	`secret` text NOT NULL,
	`created_at` integer NOT NULL,
	`valid_until` integer,
	FOREIGN KEY (`account_id`) REFERENCES `account`(`id`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
CREATE UNIQUE INDEX `webhook_secret_in_force` ON `webhook_secret` (`account_id`) WHERE valid_until IS NULL;--> statement-breakpoint
CREATE INDEX `webhook_secret_account` ON `webhook_secret` (`account_id`,`valid_until`);