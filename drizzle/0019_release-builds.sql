ALTER TABLE `endpoint_release` ADD `flash_build_id` text;--> statement-breakpoint
CREATE INDEX `endpoint_version_build` ON `endpoint_release` (`flash_build_id`);