import { ConfigError } from '../../src/platform/config-error.ts'
import { parseConfig } from '../../src/server/config/config.ts'

/** The error of an environment that must be refused. */
export function refusalOf(env: Record<string, string>): ConfigError {
  try {
    parseConfig(env)
  } catch (error) {
    if (error instanceof ConfigError) return error
  }
  throw new Error('it was taken')
}
