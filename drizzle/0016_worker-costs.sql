ALTER TABLE `usage_hour` ADD `versions` text DEFAULT '[]' NOT NULL;--> statement-breakpoint
ALTER TABLE `usage_hour` ADD `busy_ms` integer DEFAULT 0 NOT NULL;