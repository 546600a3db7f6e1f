CREATE TABLE `audit_entry` (
	`id` integer PRIMARY KEY AUTOINCREMENT NOT NULL,
	`account_id` text NOT NULL,
	`at` integer NOT NULL,
	`api_key_id` text NOT NULL,
	`operation` text NOT NULL,
	`subject_kind` text NOT NULL,
	`subject_id` text NOT NULL,
	`subject_name` text,
	`fields` text NOT NULL,
	FOREIGN KEY (`account_id`) REFERENCES `account`(`id`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
CREATE INDEX `audit_entry_account` ON `audit_entry` (`account_id`,`id`);--> statement-breakpoint
CREATE INDEX `audit_entry_subject` ON `audit_entry` (`account_id`,`subject_id`,`id`);--> statement-breakpoint
CREATE TABLE `network_volume` (
	`id` text PRIMARY KEY NOT NULL,
	`account_id` text NOT NULL,
	`name` text NOT NULL,
	`size_gb` integer NOT NULL,
	`data_center_id` text NOT NULL,
	`created_at` integer NOT NULL,
	`updated_at` integer NOT NULL,
	FOREIGN KEY (`account_id`) REFERENCES `account`(`id`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
CREATE INDEX `network_volume_account` ON `network_volume` (`account_id`,`created_at`);--> statement-breakpoint
CREATE TABLE `registry_auth` (
	`id` text PRIMARY KEY NOT NULL,
	`account_id` text NOT NULL,
	`name` text NOT NULL,
	`sealed_credentials` text NOT NULL,
	`created_at` integer NOT NULL,
	`updated_at` integer NOT NULL,
	FOREIGN KEY (`account_id`) REFERENCES `account`(`id`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
CREATE INDEX `registry_auth_account` ON `registry_auth` (`account_id`,`created_at`);--> statement-breakpoint
CREATE TABLE `secret` (
	`id` text PRIMARY KEY NOT NULL,
	`account_id` text NOT NULL,
	`name` text NOT NULL,
	`description` text,
	`sealed_value` text NOT NULL,
	`created_at` integer NOT NULL,
	`updated_at` integer NOT NULL,
	FOREIGN KEY (`account_id`) REFERENCES `account`(`id`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
CREATE UNIQUE INDEX `secret_account_name` ON `secret` (`account_id`,`name`);--> statement-breakpoint
ALTER TABLE `account` ADD `pub_key` text;--> statement-breakpoint
ALTER TABLE `api_key` ADD `hint` text DEFAULT '' NOT NULL;--> statement-breakpoint
ALTER TABLE `api_key` ADD `permissions` text DEFAULT '{"graphql":"write","endpoints":"write"}' NOT NULL;--> statement-breakpoint
ALTER TABLE `api_key` ADD `expires_at` integer;