ALTER TABLE `endpoint` ADD `share_weight` integer DEFAULT 1 NOT NULL;--> statement-breakpoint
ALTER TABLE `endpoint` ADD `share_priority` text DEFAULT 'NORMAL' NOT NULL;