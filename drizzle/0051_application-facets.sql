-- Applications with longer names were not counted. Without a cursor, all deployments are counted anew.
UPDATE "duties" SET "cursor" = null WHERE "name" IN ('facets', 'facets-past') AND EXISTS (SELECT FROM "deployments" WHERE octet_length("application") > 998);
