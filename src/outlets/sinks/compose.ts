/** Creates all sinks from the configuration. */
import type { Feed } from '../../feed/feed.ts'
import type { Database } from '../../store/database.ts'
import type { AaiConfig } from './aai.ts'
import { createAddressRule } from './address-rule.ts'
import { createAlertmanagerDeliver } from './alertmanager.ts'
import { createCallbackDeliver } from './callback.ts'
import { createInventoryDeliver } from './inventory.ts'
import { createSinkManager, type SinkManager } from './manage.ts'
import { type Deliver, roundAt } from './round.ts'
import { createSend } from './send.ts'
import { createSinks, type Sinks, type SinksOptions } from './sinks.ts'
import { createTest } from './test-message.ts'
import { createWebhookDeliver } from './webhook.ts'

export interface Outgoing extends Sinks {
  readonly manager: SinkManager
  /** Why an address may not receive notifications. Null: it may. */
  readonly refuseTarget: (url: string) => string | null
}

export interface OutgoingOptions
  extends Pick<SinksOptions, 'failed' | 'observe' | 'interval' | 'noteInterval' | 'backOff' | 'giveUpAfter'> {
  readonly database: Database
  readonly feed: Feed
  readonly allow: readonly string[]
  readonly aai: AaiConfig | null
  readonly publicUrl: string
  readonly clock: () => number
  /** Milliseconds that a receiver has for its answer. */
  readonly timeout?: number
}

export function createOutgoing(options: OutgoingOptions): Outgoing {
  const { database, feed, allow, aai, publicUrl, clock, timeout, ...more } = options
  const rule = createAddressRule(allow)
  const send = createSend(rule, timeout)
  // Setting AAI_URL allows its host.
  const sendToAai = createSend(createAddressRule([...allow, ...(aai ? [hostOf(aai.url)] : [])]), timeout)
  const notConfigured: Deliver = async (sink) =>
    roundAt(sink.cursor, { error: 'no inventory is configured: AAI_URL is not set' })
  const sinks = createSinks({
    database,
    hub: feed.hub,
    clock,
    ...more,
    deliver: {
      WEBHOOK: createWebhookDeliver({ database, send, source: publicUrl, clock }),
      CALLBACK: createCallbackDeliver({ database, send, clock }),
      ALERTMANAGER: createAlertmanagerDeliver({ database, send, publicUrl, clock }),
      INVENTORY: aai ? createInventoryDeliver({ database, send, sendToAai, config: aai, publicUrl }) : notConfigured,
    },
  })
  return {
    manager: createSinkManager({
      database,
      refuseTarget: rule.refuseUrl,
      refresh: sinks.refresh,
      sendTest: createTest({ send, publicUrl, clock }),
      clock,
      hasInventory: aai !== null,
    }),
    refresh: sinks.refresh,
    stop: sinks.stop,
    get held() {
      return sinks.held
    },
    refuseTarget: rule.refuseUrl,
  }
}

function hostOf(url: string): string {
  return new URL(url).hostname.replace(/^\[|\]$/g, '')
}
