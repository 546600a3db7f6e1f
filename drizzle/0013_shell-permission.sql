UPDATE `api_key` SET `permissions` = json_set(`permissions`, '$.shell', json('true')) WHERE `is_root` = 1;
