ALTER TABLE `host` ADD `api_key_id` text;--> statement-breakpoint
ALTER TABLE `host` ADD `expires_at` integer;--> statement-breakpoint
ALTER TABLE `join_token` ADD `api_key_id` text;