/** The variables that say where the database is. */
import { z } from 'zod'
import type { StoreConfig } from '../../store/open.ts'
import { databaseUrl, databaseUrls } from './addresses.ts'
import type { Environment } from './rules.ts'
import { durability, readLag } from './values.ts'

export const databaseVariables = {
  DATABASE_URL: databaseUrl.nullable().default(null),
  DATABASE_PASSWORD: z.string().nullable().default(null),
  PGPASSFILE: z.string().nullable().default(null),
  DATABASE_READ_URL: databaseUrls.default([]),
  DATABASE_READ_LAG: readLag.default(10),
  DATA_DIR: z.string().default('./data'),
  DURABILITY: durability.default('full'),
}

/** `env`: names the files that have the URL and the password. A connection reads them again, because a token may expire. */
export function storeConfig(
  v: z.infer<z.ZodObject<typeof databaseVariables>>,
  env: Environment,
  readLimit: number,
): StoreConfig {
  return {
    url: v.DATABASE_URL,
    urlFile: env.DATABASE_URL_FILE?.trim() || null,
    password: v.DATABASE_PASSWORD,
    passwordFile: env.DATABASE_PASSWORD_FILE?.trim() || null,
    passFile: v.PGPASSFILE,
    readUrls: v.DATABASE_READ_URL,
    lagLimit: v.DATABASE_READ_LAG * 1_000,
    dataDir: v.DATA_DIR,
    isSynced: v.DURABILITY === 'full',
    readLimit,
  }
}
