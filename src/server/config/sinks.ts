/** The variables of notifications and of the A&AI inventory. */
import { z } from 'zod'
import type { AaiConfig } from '../../outlets/sinks/aai.ts'
import { allowList, publicUrl } from './addresses.ts'
import { aaiVersion, days, headerText, listOf } from './values.ts'

export const sinksVariables = {
  SINK_ALLOW: allowList.default([]),
  SINK_RETRY_DAYS: days.nullable().default(null),
  AAI_URL: publicUrl.nullable().default(null),
  AAI_VERSION: aaiVersion.default(24),
  AAI_USER: z.string().nullable().default(null),
  AAI_PASSWORD: z.string().nullable().default(null),
  AAI_APP_ID: headerText.default('Rollcall'),
  AAI_INCLUDE_KINDS: z.string().transform(listOf).nullable().default(null),
  AAI_EXCLUDE_KINDS: z.string().transform(listOf).default(['Pod', 'ReplicaSet', 'Event']),
}

type Given = z.infer<z.ZodObject<typeof sinksVariables>>

export interface SinksConfig {
  /** Internal host names, addresses and ranges that notifications may be sent to. */
  readonly allow: readonly string[]
  /** Milliseconds without a success after which a sink is paused; null: never. */
  readonly giveUpAfter: number | null
  /** Null: no A&AI inventory. */
  readonly aai: AaiConfig | null
}

export function sinksConfig(v: Given): SinksConfig {
  return {
    allow: v.SINK_ALLOW,
    giveUpAfter: v.SINK_RETRY_DAYS === null ? null : v.SINK_RETRY_DAYS * 86_400_000,
    aai: aaiOf(v),
  }
}

function aaiOf(v: Given): AaiConfig | null {
  if (v.AAI_URL === null) return null
  return {
    url: v.AAI_URL,
    version: v.AAI_VERSION,
    user: v.AAI_USER,
    password: v.AAI_PASSWORD,
    applicationId: v.AAI_APP_ID,
    includeKinds: v.AAI_INCLUDE_KINDS,
    excludeKinds: v.AAI_EXCLUDE_KINDS,
  }
}
