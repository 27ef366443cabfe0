/**
 * The tables. A `key` is an internal number, handed out under the writer's lock (log_head.next_key); an `id` is the world's.
 * Two rules hold everything together: only the writer (src/ingest) writes them, and only under the lock of log_head;
 * and every row of change_log carries what its subject was before it, so that the past is the present unwound.
 * What is written with each report and only read as a whole is json: parsing it into jsonb was half the cost of writing it.
 */
export * from './access.ts'
export * from './columns.ts'
export * from './core.ts'
export * from './desired.ts'
export * from './orchestration.ts'
export * from './sinks.ts'
