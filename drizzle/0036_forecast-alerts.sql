ALTER TYPE "public"."alert_metric" ADD VALUE 'TIME_LEFT';--> statement-breakpoint
ALTER TYPE "public"."alert_metric" ADD VALUE 'DELAY';