CREATE TABLE `fleet_stock` (
	`account_id` text PRIMARY KEY NOT NULL,
	`at` integer NOT NULL,
	`hosts` text NOT NULL,
	FOREIGN KEY (`account_id`) REFERENCES `account`(`id`) ON UPDATE no action ON DELETE no action
);
