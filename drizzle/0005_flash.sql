CREATE TABLE `flash_app` (
	`id` text PRIMARY KEY NOT NULL,
	`account_id` text NOT NULL,
	`name` text NOT NULL,
	`created_at` integer NOT NULL,
	FOREIGN KEY (`account_id`) REFERENCES `account`(`id`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
CREATE UNIQUE INDEX `flash_app_account_name` ON `flash_app` (`account_id`,`name`);--> statement-breakpoint
CREATE TABLE `flash_auth_request` (
	`id` text PRIMARY KEY NOT NULL,
	`account_id` text,
	`status` text NOT NULL,
	`sealed_key` text,
	`created_at` integer NOT NULL,
	`expires_at` integer NOT NULL,
	FOREIGN KEY (`account_id`) REFERENCES `account`(`id`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
CREATE INDEX `flash_auth_request_expiry` ON `flash_auth_request` (`expires_at`);--> statement-breakpoint
CREATE TABLE `flash_build` (
	`id` text PRIMARY KEY NOT NULL,
	`account_id` text NOT NULL,
	`app_id` text NOT NULL,
	`object_key` text NOT NULL,
	`sha256` text NOT NULL,
	`size_bytes` integer NOT NULL,
	`manifest` text NOT NULL,
	`created_at` integer NOT NULL,
	FOREIGN KEY (`account_id`) REFERENCES `account`(`id`) ON UPDATE no action ON DELETE no action,
	FOREIGN KEY (`app_id`) REFERENCES `flash_app`(`id`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
CREATE INDEX `flash_build_app` ON `flash_build` (`app_id`,`created_at`);--> statement-breakpoint
CREATE INDEX `flash_build_account_sha256` ON `flash_build` (`account_id`,`sha256`);--> statement-breakpoint
CREATE TABLE `flash_environment` (
	`id` text PRIMARY KEY NOT NULL,
	`account_id` text NOT NULL,
	`app_id` text NOT NULL,
	`name` text NOT NULL,
	`state` text NOT NULL,
	`active_build_id` text,
	`created_at` integer NOT NULL,
	`updated_at` integer NOT NULL,
	FOREIGN KEY (`account_id`) REFERENCES `account`(`id`) ON UPDATE no action ON DELETE no action,
	FOREIGN KEY (`app_id`) REFERENCES `flash_app`(`id`) ON UPDATE no action ON DELETE no action,
	FOREIGN KEY (`active_build_id`) REFERENCES `flash_build`(`id`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
CREATE UNIQUE INDEX `flash_environment_app_name` ON `flash_environment` (`app_id`,`name`);--> statement-breakpoint
CREATE TABLE `flash_upload` (
	`id` text PRIMARY KEY NOT NULL,
	`account_id` text NOT NULL,
	`app_id` text NOT NULL,
	`object_key` text NOT NULL,
	`token_hash` text NOT NULL,
	`size_bytes` integer NOT NULL,
	`sha256` text,
	`multipart_id` text,
	`created_at` integer NOT NULL,
	`expires_at` integer NOT NULL,
	FOREIGN KEY (`account_id`) REFERENCES `account`(`id`) ON UPDATE no action ON DELETE no action,
	FOREIGN KEY (`app_id`) REFERENCES `flash_app`(`id`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
CREATE UNIQUE INDEX `flash_upload_object_key` ON `flash_upload` (`object_key`);--> statement-breakpoint
CREATE UNIQUE INDEX `flash_upload_token_hash` ON `flash_upload` (`token_hash`);--> statement-breakpoint
CREATE INDEX `flash_upload_app` ON `flash_upload` (`app_id`,`sha256`);--> statement-breakpoint
CREATE INDEX `flash_upload_expiry` ON `flash_upload` (`expires_at`);--> statement-breakpoint
CREATE TABLE `flash_upload_part` (
	`upload_id` text NOT NULL,
	`number` integer NOT NULL,
	`etag` text NOT NULL,
	PRIMARY KEY(`upload_id`, `number`),
	FOREIGN KEY (`upload_id`) REFERENCES `flash_upload`(`id`) ON UPDATE no action ON DELETE cascade
);
--> statement-breakpoint
ALTER TABLE `endpoint` ADD `flash_build_id` text;--> statement-breakpoint
CREATE UNIQUE INDEX `endpoint_flash_name` ON `endpoint` (`flash_environment_id`,`name`) WHERE flash_environment_id IS NOT NULL;