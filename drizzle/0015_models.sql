ALTER TABLE `template` ADD `models` text DEFAULT '[]' NOT NULL;--> statement-breakpoint
ALTER TABLE `template` ADD `model_token_secret` text;