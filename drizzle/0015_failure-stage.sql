CREATE TYPE "public"."failure_stage" AS ENUM('PRE_PROCESSING', 'PROCESSING', 'POST_PROCESSING');--> statement-breakpoint
ALTER TABLE "deployments" ADD COLUMN "failure_stage" "failure_stage";