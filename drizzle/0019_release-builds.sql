ALTER TABLE `endpoint_release` ADD `flash_build_id` text;--> statement-breakpoint
CREATE INDEX `endpoint_release_build` ON `endpoint_release` (`flash_build_id`);