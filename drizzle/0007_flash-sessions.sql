ALTER TABLE `flash_app` ADD `is_for_sessions` integer DEFAULT false NOT NULL;--> statement-breakpoint
ALTER TABLE `flash_environment` ADD `lease_expires_at` integer;