/** Sites: servers of cells and plants that send what their devices report. */
import type { StoredSite } from '../../../../domain/sites/stored-site.ts'
import { builder } from '../../builder.ts'
import { Node } from '../interfaces.ts'
import { Site, Target } from '../refs.ts'

const SiteReception = builder.objectRef<StoredSite>('SiteReception').implement({
  access: 'viewer',
  description: 'What this server has received from the server of a site. What it says of the site is as of then.',
  fields: (t) => ({
    receivedAt: t.expose('receivedAt', { type: 'DateTime', description: 'When the last batch came.' }),
    sentAt: t.expose('sentAt', {
      type: 'DateTime',
      description: 'When it was sent, by the clock of the site. What this server says of the site was so then.',
    }),
    backlog: t.exposeInt('backlog', {
      description: 'Number of changes of the log of the site that it had not sent yet. 0: this server has everything.',
    }),
    version: t.exposeString('version', { description: 'The version of its server.' }),
    isInSnapshot: t.boolean({
      description:
        'Whether the present of the site is being received, because its log does not continue what this server has. Until then, some of it is missing or old.',
      resolve: ({ snapshot }) => snapshot !== null,
    }),
  }),
})

Site.implement({
  access: 'viewer',
  description:
    'A site: a cell, a plant or a region. Its server sends what its devices and clusters report. OFFLINE: it was silent for three minutes, and what this server says of it is as of its last batch.',
  interfaces: [Node, Target],
  fields: (t) => ({
    path: t.exposeString('name', {
      description: 'Its path, as `eu/berlin`: its name after those of the sites that it is in.',
    }),
    revokedAt: t.expose('revokedAt', {
      type: 'DateTime',
      nullable: true,
      description: 'When its credential was revoked. Since then its server is refused. Null: it was not.',
    }),
    reception: t.field({
      type: SiteReception,
      nullable: true,
      description: 'Null: its server has sent nothing to this one. Another site may pass on what it reports.',
      resolve: async ({ key }, _, { reader }) => (await (await reader()).reception(key)) ?? null,
    }),
  }),
})

builder.queryFields((t) => ({
  sites: t.field({
    access: 'viewer',
    type: [Site],
    description: 'All sites, by path.',
    resolve: async (_, __, { reader }) => (await (await reader()).sites()).map((site) => ({ ...site, asOf: null })),
  }),
  site: t.field({
    access: 'viewer',
    type: Site,
    nullable: true,
    description: 'The site with this path. Null if there is none.',
    args: { path: t.arg.string({ required: true, description: 'Its path, as `eu/berlin`.' }) },
    resolve: async (_, { path }, { reader }) => {
      const site = await (await reader()).targetByName('SITE', '', path, null)
      return site && { ...site, asOf: null }
    },
  }),
}))
