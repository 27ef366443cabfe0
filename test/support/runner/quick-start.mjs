// @ts-check
/**
 * Preloaded into every process that a test starts.
 *
 * Node parses the package.json of drizzle-orm anew for each of its 100 files and for each
 * import of it. Its `exports` have 130 kB, so that takes 0.5 s of processor time, four tenths of loading the server.
 *
 * V8 compiles each function of PGlite that is used often a second time. Most of these processes end before that pays: it takes a seventh of
 * the processor time of a start. Now only functions that are used a hundred times as often are compiled again.
 */
import { registerHooks } from 'node:module'
import { setFlagsFromString } from 'node:v8'

setFlagsFromString('--wasm-tiering-budget=1300000000')

/** @type {Map<string, import('node:module').ResolveFnOutput>} */
const resolved = new Map()

registerHooks({
  resolve(specifier, context, next) {
    if (specifier.startsWith('.') && context.parentURL?.includes('/node_modules/drizzle-orm/'))
      return { url: new URL(specifier, context.parentURL).href, format: 'module', shortCircuit: true }
    if (!specifier.startsWith('drizzle-orm')) return next(specifier, context)
    const found = resolved.get(specifier) ?? next(specifier, context)
    resolved.set(specifier, found)
    return { ...found, shortCircuit: true }
  },
})
