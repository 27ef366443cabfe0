/** Operations on sites, whose servers send to this one. */
import { isPath, pathRule } from '../../../domain/sites/path.ts'
import { registerSite, revokeSite } from '../../../ingest/commands/sites/register.ts'
import { newDeviceToken } from '../../../ingest/device-token.ts'
import type { Context } from '../execution/context.ts'
import type { TargetNode } from '../execution/loaders/targets.ts'
import { required } from '../execution/required.ts'
import { LabelInput } from '../objects/label.ts'
import { Site } from '../objects/refs.ts'
import { checkLabels } from './check-labels.ts'
import type { InputCheck } from './input-check.ts'
import { addMutation } from './mutation.ts'

const defaultOverlap = 3_600
const maxOverlap = 30 * 86_400

addMutation('registerSite', {
  access: 'operator of all',
  description:
    'Registers a site, and creates a token with which its server sends what its devices report. For a site that is registered, it creates another token.',
  input: {
    description: 'The site.',
    note: 'Absent fields keep their values.',
    fields: (t) => ({
      path: t.string({
        required: true,
        description: 'The path: names divided by `/`, as `eu/berlin`, each of 1 to 100 characters.',
      }),
      name: t.string({ description: 'The display name.' }),
      labels: t.field({ type: [LabelInput], description: 'All labels. The list replaces the previous one.' }),
      overlap: t.int({
        defaultValue: defaultOverlap,
        description: 'Seconds for which the tokens that it has stay valid: 0 to 2592000 (30 days).',
      }),
    }),
  },
  check: ({ path, name, labels, overlap }, check) => {
    checkPath(path, check)
    if (name != null) check.name(['name'], name)
    checkLabels(check, ['labels'], labels)
    const seconds = overlap ?? defaultOverlap
    if (seconds < 0 || seconds > maxOverlap) check.add(['overlap'], `must be from 0 to ${maxOverlap} seconds`)
    return seconds
  },
  act: async ({ path, name, labels }, context, overlap) => {
    const token = newDeviceToken()
    const given = { path, name: name ?? null, labels: labels ?? null, tokenHash: token.hash, overlap }
    const { key } = await context.write(registerSite(given))
    return { site: await siteNow(context, key), token: token.text }
  },
  success: {
    access: 'operator',
    description: 'The site was registered.',
    fields: (t) => ({
      site: t.expose('site', { type: Site, description: 'The site.' }),
      token: t.exposeString('token', {
        description: 'The token of its server, for `UPSTREAM_TOKEN`. It is shown only once.',
      }),
    }),
  },
})

addMutation('revokeSite', {
  access: 'operator of all',
  description:
    'Refuses the server of a site from its next batch on, until the site is registered again. What it has sent stays.',
  input: {
    description: 'The site.',
    fields: (t) => ({ path: t.string({ required: true, description: 'Its path.' }) }),
  },
  errors: ['NotFound'],
  check: ({ path }, check) => checkPath(path, check),
  act: async ({ path }, context) => {
    const { key } = await context.write(revokeSite(path))
    return { site: await siteNow(context, key) }
  },
  success: {
    access: 'operator',
    description: 'The site was revoked.',
    fields: (t) => ({ site: t.expose('site', { type: Site, description: 'The site.' }) }),
  },
})

function checkPath(path: string, check: InputCheck): void {
  if (!isPath(path)) check.add(['path'], pathRule)
}

async function siteNow(context: Context, key: number): Promise<TargetNode> {
  return required(await (await context.reader()).target(key, null), 'site')
}
