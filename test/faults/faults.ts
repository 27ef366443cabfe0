/**
 * Faults that a user would notice. Each replaces a text that occurs once in its file, and `npm run faults` shows which test finds it. A test that finds
 * one may go only if another finds it.
 */
export interface Fault {
  /** In src. */
  readonly file: string
  readonly find: string
  readonly put: string
  /** What goes wrong for whom. */
  readonly breaks: string
  /** What is run for it, as Vitest takes it: parts of paths. */
  readonly tests: readonly string[]
}

type Row = readonly [file: string, find: string, put: string, breaks: string, ...tests: readonly string[]]

// biome-ignore format: a table.
const rows: readonly Row[] = [
  // Who may what.
  ['api/auth/api/api-auth.ts', 'key.expiresAt <= clock()', 'key.expiresAt <= 0', 'a key works after its time', 'auth/api'],
  ['api/auth/api/followers.ts', 'return !current || rightsKey(current) !== rightsKey(principal)', 'return !current', 'a stream keeps rights that its session has lost', 'auth/api/followers'],
  ['api/auth/api/credentials.ts', 'one.toLowerCase() === name.toLowerCase()', 'one === name', 'a second Host header passes in another spelling', 'rest/ambiguous-requests'],
  ['ingest/devices.ts', 'if (retired) throw', 'if (retired === null) throw', 'a retired device still reports', 'ingest/commands', 'graphql/mutations'],
  ['api/auth/devices/certificates.ts', 'now > certificate.validToDate.getTime()', 'now < 0', 'a certificate works after its end', 'auth/devices'],
  ['api/auth/identity/trust.ts', 'client === null || !wfms.includes', 'client === null || [].includes', 'a client of another WFM is taken', 'auth/identity'],
  ['api/auth/identity/trust.ts', 'changed() {\n      verified.clear()', 'changed() {', 'a certificate works after its authority was removed', 'auth/identity'],
  ['api/auth/identity/trust.ts', 'known.from - tolerance <= now && now <= known.until', 'true', 'a certificate that was verified once works after its end', 'auth/identity'],
  ['api/auth/identity/svid.ts', "facts.signature === expected", 'true', 'a weak signature of an identity is taken', 'auth/identity/svid'],
  ['api/auth/identity/svid.ts', 'return key !== null && certificate.verify(key)', 'return key !== null', 'an authority of the same name vouches for a device', 'auth/identity/svid'],
  ['api/auth/identity/authorities.ts', 'sequence < before', 'sequence < 0', 'a removed authority comes back with an old bundle', 'auth/identity/authorities'],
  ['api/rest/tls/tls-server.ts', 'secureOptions: constants.SSL_OP_NO_TICKET', '', 'a session is resumed without its certificates', 'auth/identity/clients'],
  ['api/auth/oidc/sign-in.ts', "parameters.get('state') !== record.state", 'false', 'another person’s sign-in is taken', 'auth/oidc/attacks'],
  ['api/auth/oidc/logout-token.ts', 'iat < now - longestAge || iat > now + longestAge', 'iat < 0', 'an old logout token ends sessions', 'auth/oidc/logout-attacks'],
  ['api/auth/signed-token.ts', "requiredClaims: ['exp'],", 'requiredClaims: [],', 'a token without an end is taken', 'auth'],
  ['domain/principal.ts', 'if (isOfAll && accessScope !== null) return false', '', 'a part of the fleet’s operator manages all of it', 'domain', 'auth/rest', 'auth/matrix'],
  ['store/read/access-scope.ts', 'if (!accessScope) return []', 'return []', 'a reader sees rows outside of its scope', 'graphql/objects/access-scope', 'road/tenants'],
  ['api/graphql/mutations/manage-api-keys.ts', "typeof expiresAt === 'number' && expiresAt <= clock()", 'false', 'a key is made that has expired', 'auth/api'],
  // Sites.
  ['ingest/commands/sites/receive.ts', 'if (!isNext(stored, batch)) return', 'if (false) return', 'a batch that comes twice is counted twice', 'sites/receive'],
  ['ingest/commands/sites/receive.ts', 'return site?.registered && site.key !== key', 'return false', 'a plant says what the devices of another do', 'sites/receive'],
  ['ingest/commands/sites/facts.ts', 'if (stored && fact.revision <= stored.since) return', '', 'what a snapshot has is taken again after it', 'sites/receive'],
  ['domain/sites/changes-to.ts', "there : { ...there, ...nothingDesired, components: [] }", 'there : there', 'a deployment that came back has components of before', 'domain/changes-to'],
  ['api/rest/sites/read-batch.ts', 'known.has(change.kind) ? [check', 'true ? [check', 'a site of a newer version is refused for a kind of change', 'sites/receive'],
  ['store/write/load/load-sites.ts', 'not s.registered', 'true', 'a snapshot of a plant forgets the deployments of a cell that sends itself', 'sites/receive'],
  // The state rules.
  ['domain/transition/order.ts', 'if (version < 0) return', 'if (version < -1) return', 'an old report overwrites a newer state', 'domain'],
  ['domain/transition/order.ts', 'if (version === 0 && seq < 0) return', 'if (version === 0 && seq < -1) return', 'a late report overwrites a newer state', 'domain'],
  ['domain/transition/transition-result.ts', "(to === 'PENDING' || to === 'INSTALLING')", "(to === 'PENDING')", 'an update is no new attempt', 'domain'],
  ['domain/transition/component-changes.ts', 'a.code === b.code && a.message === b.message', 'a.code === b.code', 'a new message of an error is not shown', 'domain', 'road/reference'],
  ['domain/fold.ts', 'entry.firstRevision + index <= revision', 'entry.firstRevision + index < revision', 'the past is one change behind', 'domain', 'store/read/past'],
  ['domain/orchestration/instance.ts', "total > 0 && counts.APPLIED === total ? 'INSTANTIATED'", "counts.APPLIED > 0 ? 'INSTANTIATED'", 'an instance is ready before its resources are', 'domain', 'ingest/commands'],
  ['domain/alerts/alert.ts', 'if (now >= dueAt) return', 'if (now > dueAt + 86_400_000) return', 'an alert is a day late', 'domain', 'ingest/alerts'],
  ['domain/selectors/label-selector.ts', 'if (absent !== undefined) return { key: absent.slice(1), exists: false }', 'if (absent !== undefined) return { key: absent.slice(1), exists: true }', 'a selector of absent labels selects the others', 'domain', 'cli'],
  ['domain/readiness/deployment.ts', "if (progressing?.reason === 'ProgressDeadlineExceeded') return", "if (progressing?.reason === '') return", 'a stuck Deployment is not failed', 'readiness'],
  ['domain/readiness/generation.ts', 'observed >= generation) return null', 'observed >= 0) return null', 'an old status passes for the new one', 'readiness'],
  ['domain/readiness/stateful-set.ts', 'if (readyReplicas < desired) return', 'if (readyReplicas < 0) return', 'a StatefulSet is ready before its replicas', 'readiness'],
  // The dialects.
  ['platform/body/text.ts', 'if (isStorable(text)) return null', "if (text !== '') return null", 'a NUL in an ID passes', 'dialects', 'attacks/unstorable-text.deep'],
  ['ingest/dialects/margo/u64.ts', 'compareDigits(text, largest) <= 0', 'compareDigits(text, largest) < 0', 'the largest version is refused', 'dialects/margo'],
  ['ingest/dialects/margo/components.ts', 'if (first && first.state !== state)', 'if (first && first.state === state)', 'of a component that is listed with two states, one is taken', 'dialects/margo'],
  ['ingest/dialects/margo/marks.ts', "if (version !== null && version !== '0') return version", 'if (version !== null) return version', 'the version 0 is taken', 'dialects/margo'],
  ['ingest/dialects/emco/vocabulary.ts', "if (connectivity === 'ONLINE') return 'Available'", "if (connectivity === 'OFFLINE') return 'Available'", 'EMCO learns that a lost cluster is available', 'dialects', 'rest/orchestrators'],
  ['ingest/dialects/k8splugin/instance.ts', '!isAbsent(body.id) && body.id !== pathId', 'false', 'a body of another instance is taken', 'dialects', 'rest/orchestrators'],
  ['ingest/dialects/kubernetes/detail.ts', 'if (!isSecret || !isObject(metadata.annotations)) return metadata', 'return metadata', 'the content of a Secret is kept', 'dialects/kubernetes'],
  // The road of a report.
  ['ingest/commands/report.ts', 'if (caller !== null) refuseStrangers(work, caller, [reporter, device])', '', 'a device reports for another', 'auth', 'rest/devices', 'ingest/commands'],
  ['ingest/commands/connectivity.ts', "if (device.connectivity === 'OFFLINE' ||", "if (device.connectivity === 'ONLINE' ||", 'a device that is back stays OFFLINE', 'ingest/commands', 'road'],
  ['ingest/commands/rollout-labels.ts', 'since > ifRevision', 'since > ifRevision + 1e15', 'labels that another has changed are overwritten', 'graphql/mutations/rollout-labels'],
  ['ingest/commands/alerts.ts', 'if (work.alerts.cursor !== settlement.from) return { isCurrent: false }', '', 'two servers raise an alert twice', 'ingest/alerts'],
  ['ingest/duties/history.ts', 'if (bound === null) break', 'if (bound !== null) break', 'history is never removed', 'ingest/duties', 'store/partitions', 'road'],
  ['ingest/heartbeats.ts', 'if (lastHeardAt !== null && clock() - lastHeardAt < enough) return', 'return', 'a device that only asks is OFFLINE', 'ingest', 'rest/devices'],
  ['ingest/servers/hand-over.ts', 'if (batch.parts.size < Number(count)) return', 'if (batch.parts.size < 0) return', 'a batch in parts is taken with its first', 'ingest/servers'],
  ['store/write/save/save.ts', "last: ['activityRevision', 'activityAt'],", 'last: [],', 'the end of a rollout is never noted', 'graphql/objects/rollout-life', 'store/record-set'],
  ['store/sql/record-set.ts', '!optional.includes(column)', 'true', 'a rollout gets the time of another', 'store/record-set', 'graphql/objects/rollout-life'],
  ['store/connection/log-head.ts', 'position.writes >= other.writes', 'true', 'a reader is sent back behind what it has seen', 'store/connection'],
  ['store/connection/embedded/files.ts', 'if (written.has(stream.node)) sync', 'if (!written.has(stream.node)) sync', 'a power cut loses acknowledged reports', 'road/power'],
  ['store/connection/embedded/backup.ts', 'name >= first', 'name > first', 'no backup can be restored', 'road/backup'],
  ['store/restore.ts', 'last !== lastEntry', "last === ''", 'a part of a backup is taken for the whole', 'road/backup'],
  ['store/write/upkeep.ts', 'where t.blocks >= $1::int', 'where t.blocks >= 1e9 + $1::int', 'plans are for a table that was small', 'ingest/duties/upkeep'],
  ['store/write/upkeep.ts', 's.n_dead_tup > $1::int +', 's.n_dead_tup > 1e15 + $1::int +', 'the embedded database grows with each change', 'ingest/duties/upkeep'],
  ['store/migration/migrate.ts', 'if (row?.least && !own.has(row.least))', 'if (row?.least === own)', 'an old version writes into tables that it does not know', 'store/migration'],
  // Lists, counts and the past.
  ['store/read/filters/deployment-filter.ts', 'd.changedAt} > ', 'd.changedAt} < ', 'a filter by time shows the others', 'graphql/objects', 'store/read'],
  ['store/read/orchestration/instances.ts', 'instances.createdRevision} <= ', 'instances.createdRevision} - 1e15 <= ', 'the past has instances of later', 'graphql/objects', 'store/read'],
  ['store/read/rollouts/rollout-labels.ts', 'rolloutLabels.since} <= ', 'rolloutLabels.since} - 1e15 <= ', 'the past has labels of later', 'graphql/mutations/rollout-labels', 'store/read'],
  ['store/sql/cursor.ts', 'name === order.name &&', '', 'a cursor of another order skips rows', 'graphql', 'store'],
  // The feed and the subscriptions.
  ['feed/cursor.ts', 'if (epoch && cursor >= log.tail) return null', 'if (epoch) return null', 'a subscriber is not told that changes are gone', 'feed'],
  ['feed/backlog.ts', 'changes.filter((change) => change.revision > after)', 'changes.filter((change) => change.revision > after + 1)', 'a subscriber that resumes misses a change', 'feed', 'road'],
  ['feed/hub.ts', 'if (revision > last) forgetUntil(revision)', '', 'the feed believes in changes that it has not', 'feed'],
  ['feed/change-stream.ts', 'if (queue.size() > source.capacity) {', 'if (queue.size() > 1e9) {', 'a slow subscriber fills the memory', 'feed'],
  ['api/graphql/subscriptions/counts-update.ts', 'if (shown === sent) return { skip: true }', '', 'live counts repeat themselves', 'graphql/subscriptions'],
  ['api/graphql/transport/response-cache.ts', 'return known?.stamp === stamp ? known : null', 'return known ?? null', 'an answer of yesterday is given', 'graphql/transport'],
  ['api/graphql/guards/limits.ts', 'if (found <= cost) return null', 'return null', 'a query of any cost is executed', 'graphql', 'attacks'],
  ['apps/client/request.ts', 'if (answer?.errors?.[0]) throw toApiError(answer.errors, status)', '', 'a refused request has no reason', 'client', 'cli'],
  ['apps/client/watch.ts', 'if (cursor !== null) operation.variables.after = cursor', '', 'a subscriber begins again where it began', 'client', 'cli'],
  ['apps/device/device.ts', `status < 300 && /"verdict":"(?!REFUSED)/.test(result?.text ?? '')`, 'status < 300', 'the page of a proxy passes for an acknowledgement', 'device'],
  ['apps/device/device.ts', "[400, 413, 422].includes(status) && text.includes('\"errors\":[')", '[400, 413, 422].includes(status)', 'a proxy that refuses a report makes a device give it up', 'device'],
  ['apps/device/journal.ts', 'if (waitingSize + bytes.length > maxBytes)', 'if (waitingSize > Number.MAX_VALUE)', 'a queue fills the disk of a device', 'device'],
  ['apps/device/journal.ts', 'seq = Math.max(seq, Number(number))', 'seq = waiting.length', 'after a restart, the reports of a device are taken for older ones', 'device'],
  ['api/graphql/federation/entities.ts', 'if (length <= maxRepresentations) return', 'if (length >= 0) return', 'a gateway asks for any number of entities', 'graphql/federation'],
  ['api/graphql/guards/hidden-schema.ts', "node.name.value !== 'sdl'", "node.name.value === 'sdl'", 'a hidden schema is shown to gateways', 'graphql/federation'],
  ['api/graphql/execution/budget.ts', 'if (parts > maxParts) throw', 'if (parts < 0) throw', 'an answer has any number of parts', 'graphql/transport/parts'],
  ['api/graphql/execution/parts.ts', 'void context.close()', '', 'a client of @defer that leaves keeps a snapshot open', 'graphql/transport/parts'],
  ['ingest/writer.ts', 'if (state.failure) queue.splice(0, queue.length, ...withoutBroken(queue))', '', 'an outage makes the first reports of a backlog stale', 'ingest/series'],
  ['api/rest/devices/reports.ts', 'item.read(), null, series)', 'item.read(), null)', 'an outage makes the first reports of a backlog stale', 'rest/devices/reports'],
  // The limits.
  ['platform/limits/rate.ts', 'return (key, now) => rate(key, now) === 0', 'return () => true', 'no rate holds', 'limits'],
  ['platform/limits/streams.ts', 'if (most !== null && count >= most) return null', '', 'one caller takes all streams', 'limits'],
  ['platform/limits/bodies.ts', 'if (size > limit) return stop(tooLarge(limit))', '', 'a body of any size is read', 'limits', 'rest'],
  ['platform/limits/nesting.ts', 'if (depth === limit) return true', '', 'a body of any depth is read', 'limits', 'dialects/body'],
  ['platform/outbound/fetch.ts', 'if (!isWhole) throw', 'if (isWhole === null) throw', 'an answer without an end fills the memory', 'outbound', 'auth/oidc'],
  ['platform/outbound/list.ts', 'if (found.length >= most) throw', 'if (found.length > 1e9) throw', 'a list without an end fills the memory', 'outbound'],
  ['api/mqtt/take.ts', 'if (payload.length > limit)', 'if (payload.length > 1e9)', 'a message of any size is parsed', 'mqtt'],
  ['api/mqtt/topics.ts', "}$`, 'su')", "}`, 'su')", 'a topic below a report’s is a report', 'mqtt'],
  ['api/mqtt/present.ts', "if (!row || !isPresent(row)) return { topic, payload: '', isRetained: true }", '', 'the broker keeps what is gone', 'mqtt'],
  // The outlets.
  ['outlets/sinks/address-rule.ts', '|| !blocked.check(plain, family)', '|| true', 'a webhook reaches the cloud’s own addresses', 'sinks/send'],
  ['outlets/sinks/send.ts', 'status < 200 || status >= 300', 'status >= 600', 'a webhook that failed is not sent again', 'sinks'],
  ['outlets/sinks/reconcile.ts', 'if (mark?.hash !== hash || mark.detailHash !== detailHash)', 'if (mark === undefined)', 'A&AI keeps an old state', 'sinks'],
  ['outlets/upstream/cursor.ts', 'position.epoch === head.epochBase ? position : { ...position, writes: -1 }', 'position', 'a device that was registered before a restore is missing above', 'upstream/link-faults'],
  ['outlets/upstream/sender.ts', 'cursorOf(outcome.standing, cursor)', 'cursorOf(outcome.standing)', 'a site is stuck: the server above asks for names again and again', 'upstream/link-faults'],
  ['outlets/traces/spans.ts', 'isTerminal(change.to) && !isTerminal(change.from)', 'isTerminal(change.to)', 'a deployment has a span for each report', 'traces'],
  ['api/export/formats/csv.ts', "(type === 'text' ? csvText : csvField)", 'csvField', 'a spreadsheet executes what a device said', 'export'],
  ['api/export/archive/archive.ts', 'if (!back || hashOf(back) !== hashOf(bytes)) throw', 'if (!back) throw', 'an archive that lost bytes is believed', 'export'],
  ['ingest/clusters/pending-states.ts', 'if (waiting.size <= most && weight <= heaviest && clock() - since <= longest) break', 'break', 'states of unknown instances fill the memory', 'clusters'],
  ['ingest/clusters/watch-events.ts', 'if (length > longestLine) throw', 'if (length > 1e12) throw', 'a line without an end fills the memory', 'clusters'],
  ['api/git/commits.ts', 'if (digest === null) grown.delete(deploymentId)', '', 'a repository keeps a deployment that is gone', 'git'],
  ['api/rest/negotiation.ts', '.some((tag) => tag === etag)', '.some((tag) => tag !== etag)', 'a device learns that its old manifest is the newest', 'rest', 'dialects'],
  ['api/rest/devices/desired.ts', 'if (digestOf(bytes) !== digest) throw missing', '', 'a device installs a bundle that was changed', 'rest/devices'],
  ['api/mcp/serve.ts', ' && !Array.isArray(message)', '', 'an assistant sends many requests as one', 'mcp/http'],
  ['api/mcp/untrusted.ts', 'escapeLine(text.slice(0, most + 1).toWellFormed())', 'text.slice(0, most + 1)', 'a message of a device turns the text of an answer round', 'mcp/texts'],
  ['api/mcp/serve.ts', "isWaiting(parsedBody) ? 'sse' : 'auto'", "'auto'", 'a proxy ends what waits in silence', 'mcp/http'],
  ['api/mcp/tools/device.ts', 'pageOf(data.id)', 'pageOf(encodeURIComponent(data.deviceId))', 'a device writes words into the link of an answer', 'mcp/texts'],
  ['api/mcp/tools/selection.ts', 'where: { and: labels.map((label) => ({ labels: [label] })) }', 'labels', 'maintenance covers devices that have only one of the labels', 'mcp/writing'],
  ['api/mcp/writing-tool.ts', 'input.confirm === word', 'input.confirm !== undefined', 'an assistant writes what no one has seen', 'mcp/writing'],
  ['api/graphql/transport/own-documents.ts', "signal.addEventListener('abort', () => resolve(), { once: true })", '', 'what a client that is gone waits for stays open', 'mcp/http'],
  // The programs around it.
  ['apps/cli/stored-sessions.ts', 'found.endsAt > Date.now()', 'found.endsAt > 0', 'the terminal uses a session that has ended', 'cli'],
  ['apps/cli/show.ts', "[error.code, error.message].filter((part) => part !== '').join(': ')", "[error.code].filter((part) => part !== '').join(': ')", 'the terminal hides why it failed', 'cli'],
  ['server/config/secret-files.ts', 'if (file.size > largest) return', 'if (file.size < 0) return', 'a wrong path fills the memory with a large file', 'config/secret-files'],
  ['server/config/config.ts', 'if (!parsed.success || problems.length > 0) throw', 'if (!parsed.success) throw', 'settings that contradict each other are taken', 'config'],
  ['server/build/build-executable.ts', "banner: {}, ", '', 'the executable cannot open its database', 'deploy/executable.deep'],
  ['platform/limits/content-coding.ts', '      grow(size)\n', '', 'a small body fills the memory', 'limits/content-coding'],
  ['apps/dashboard/data/diff.ts', 'isFolded: isFolded && own.length > 1', 'isFolded: true', 'the page hides the lines that differ', 'dashboard/diff'],
  ['apps/dashboard/data/labels.ts', "return part === 0 ? '0 %' : '100 %'", "return '100 %'", 'the page says 100 % of nothing', 'dashboard'],
  ['platform/log/log.ts', '/^[\\w./:-]{1,128}$/.test(given)', 'true', 'a caller writes lines of its own into the log', 'log', 'rest'],
  ['outlets/metrics/open-metrics.ts', "value > 0 ? '+Inf' : '-Inf'", "'Infinity'", 'Prometheus refuses the metrics', 'metrics'],
  ['server/log/outage.ts', 'if (since === null || isClosed) return', 'if (since !== null || isClosed) return', 'no line says that an outage has ended', 'log'],
  ['server/process/startup-errors.ts', 'error instanceof ConfigError || error', 'error', 'a wrong setting is a stack trace', 'process', 'main'],
  ['apps/simulate/progress.ts', 'isRight: differences.length === 0', 'isRight: true', 'the simulator succeeds although the server refuses what is valid', 'simulate'],
  ['platform/timing/within.ts', 'work.then(() => true)', 'work.then(() => false)', 'what ended in time is said to be late', 'timing', 'store/connection'],
]

export const faults: readonly Fault[] = rows.map(([file, find, put, breaks, ...tests]) => {
  return { file, find, put, breaks, tests: tests.map((part) => `test/${part}`) }
})
