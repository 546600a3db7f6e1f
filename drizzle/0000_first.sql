CREATE TABLE `account` (
	`id` text PRIMARY KEY NOT NULL,
	`name` text NOT NULL,
	`email` text,
	`created_at` integer NOT NULL
);
--> statement-breakpoint
CREATE TABLE `api_key` (
	`id` text PRIMARY KEY NOT NULL,
	`account_id` text NOT NULL,
	`hash` text NOT NULL,
	`name` text NOT NULL,
	`is_root` integer NOT NULL,
	`created_at` integer NOT NULL,
	`revoked_at` integer,
	`last_used_at` integer,
	FOREIGN KEY (`account_id`) REFERENCES `account`(`id`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
CREATE UNIQUE INDEX `api_key_hash` ON `api_key` (`hash`);--> statement-breakpoint
CREATE INDEX `api_key_account` ON `api_key` (`account_id`,`created_at`);--> statement-breakpoint
CREATE TABLE `endpoint` (
	`id` text PRIMARY KEY NOT NULL,
	`account_id` text NOT NULL,
	`name` text NOT NULL,
	`type` text NOT NULL,
	`template_id` text NOT NULL,
	`gpu_ids` text,
	`gpu_count` integer NOT NULL,
	`instance_ids` text NOT NULL,
	`idle_timeout_seconds` integer NOT NULL,
	`locations` text,
	`network_volume_id` text,
	`network_volume_ids` text NOT NULL,
	`flash_environment_id` text,
	`scaler_type` text NOT NULL,
	`scaler_value` integer NOT NULL,
	`workers_min` integer NOT NULL,
	`workers_max` integer NOT NULL,
	`workers_pfb_target` integer NOT NULL,
	`env` text NOT NULL,
	`allowed_cuda_versions` text,
	`min_cuda_version` text,
	`execution_timeout_ms` integer NOT NULL,
	`flash_boot_type` text,
	`compliance` text NOT NULL,
	`version` integer NOT NULL,
	`revision` integer NOT NULL,
	`created_at` integer NOT NULL,
	`updated_at` integer NOT NULL,
	FOREIGN KEY (`account_id`) REFERENCES `account`(`id`) ON UPDATE no action ON DELETE no action,
	FOREIGN KEY (`template_id`) REFERENCES `template`(`id`) ON UPDATE no action ON DELETE no action,
	CONSTRAINT "endpoint_type" CHECK("endpoint"."type" IN ('QB', 'LB')),
	CONSTRAINT "endpoint_workers" CHECK(0 <= "endpoint"."workers_min" AND "endpoint"."workers_min" <= "endpoint"."workers_max"),
	CONSTRAINT "endpoint_compute" CHECK(("endpoint"."gpu_ids" IS NULL) = ("endpoint"."instance_ids" <> '[]'))
);
--> statement-breakpoint
CREATE INDEX `endpoint_account` ON `endpoint` (`account_id`,`created_at`);--> statement-breakpoint
CREATE INDEX `endpoint_template` ON `endpoint` (`template_id`);--> statement-breakpoint
CREATE TABLE `endpoint_removal` (
	`endpoint_id` text PRIMARY KEY NOT NULL,
	`account_id` text NOT NULL,
	`deleted_at` integer NOT NULL,
	FOREIGN KEY (`account_id`) REFERENCES `account`(`id`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
CREATE TABLE `host` (
	`id` text PRIMARY KEY NOT NULL,
	`account_id` text NOT NULL,
	`name` text NOT NULL,
	`token_hash` text NOT NULL,
	`created_at` integer NOT NULL,
	`revoked_at` integer,
	FOREIGN KEY (`account_id`) REFERENCES `account`(`id`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
CREATE UNIQUE INDEX `host_token_hash` ON `host` (`token_hash`);--> statement-breakpoint
CREATE INDEX `host_account` ON `host` (`account_id`,`created_at`);--> statement-breakpoint
CREATE TABLE `join_token` (
	`hash` text PRIMARY KEY NOT NULL,
	`account_id` text NOT NULL,
	`name` text,
	`created_at` integer NOT NULL,
	`expires_at` integer NOT NULL,
	`used_at` integer,
	FOREIGN KEY (`account_id`) REFERENCES `account`(`id`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
CREATE TABLE `template` (
	`id` text PRIMARY KEY NOT NULL,
	`account_id` text NOT NULL,
	`name` text NOT NULL,
	`image_name` text NOT NULL,
	`container_disk_in_gb` integer NOT NULL,
	`volume_in_gb` integer NOT NULL,
	`volume_mount_path` text NOT NULL,
	`docker_args` text NOT NULL,
	`env` text NOT NULL,
	`ports` text NOT NULL,
	`ports_config` text NOT NULL,
	`readme` text NOT NULL,
	`is_serverless` integer NOT NULL,
	`is_public` integer NOT NULL,
	`container_registry_auth_id` text,
	`start_ssh` integer NOT NULL,
	`start_jupyter` integer NOT NULL,
	`start_script` text NOT NULL,
	`advanced_start` integer NOT NULL,
	`config` text,
	`category` text,
	`is_bound` integer NOT NULL,
	`revision` integer NOT NULL,
	`created_at` integer NOT NULL,
	`updated_at` integer NOT NULL,
	FOREIGN KEY (`account_id`) REFERENCES `account`(`id`) ON UPDATE no action ON DELETE no action,
	CONSTRAINT "template_serverless_volume" CHECK("template"."is_serverless" = 0 OR "template"."volume_in_gb" = 0)
);
--> statement-breakpoint
CREATE UNIQUE INDEX `template_account_name` ON `template` (`account_id`,`name`);