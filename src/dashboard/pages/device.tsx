/** One device: what is said of it, what is behind it, what runs on it, and what happened there. */
import { useMemo } from 'preact/hooks'
import { useLiveAnswer } from '../answers.ts'
import { ChangeLine, changeFragment } from '../change-line.tsx'
import { CountsBar } from '../counts-bar.tsx'
import { graphql } from '../graphql.ts'
import { Manifests } from '../manifests.tsx'
import { at, href } from '../route.ts'
import { ConnectivityMark } from '../state-mark.tsx'
import { formatAge, formatFull, formatSpan, now } from '../time.ts'
import { Trouble } from '../trouble.tsx'
import { plural } from '../words.ts'
import { FilteredDeployments } from './deployments.tsx'
import { DeviceTable, deviceFragment } from './devices.tsx'

const deviceDocument = graphql(
  `
    query Device($deviceId: String!) {
      revision
      device(deviceId: $deviceId) {
        ...DeviceRow
        expectedInterval manifestVersion repository onboardedAt
        capabilities { vendor modelNumber serialNumber reportedAt document }
        manifests { version at who reason changes { deploymentId digest } }
        children(first: 100) { totalCount nodes { ...DeviceRow } }
      }
      changes(filter: { deviceIds: [$deviceId] }, last: 20) { nodes { ...Line } }
    }
  `,
  [deviceFragment, changeFragment],
)

export function DevicePage({ steps: [deviceId = ''] }: { readonly steps: readonly string[] }) {
  const { data, error } = useLiveAnswer(deviceDocument, { deviceId }, { deviceIds: [deviceId] })
  const scope = useMemo(() => ({ deviceIds: [deviceId] }), [deviceId])
  if (error && !data) return <Trouble error={error} />
  if (!data) return <h1 aria-busy="true">{deviceId}</h1>
  const { device } = data
  if (!device)
    return (
      <>
        <h1>{deviceId}</h1>
        <p>Nobody has registered it, and it has not reported. It will appear here when it does.</p>
      </>
    )
  return (
    <>
      <p class="crumbs">
        <a href={href(['devices'])}>Devices</a>
        {device.parent && (
          <>
            {' / '}
            <a href={href(['device', device.parent.deviceId])}>{device.parent.name}</a>
          </>
        )}
      </p>
      <section class="hero" aria-labelledby="device">
        <h1 id="device" class="named">
          {device.name}
          {device.name !== device.deviceId && <small class="muted">{device.deviceId}</small>}
        </h1>
        <dl class="facts-row">
          <div>
            <dt>Connectivity</dt>
            <dd>
              <ConnectivityMark of={device.connectivity} />
            </dd>
          </div>
          <div>
            <dt>Last heard</dt>
            <dd class="number" title={device.lastHeardAt ? formatFull(device.lastHeardAt) : undefined}>
              {device.lastHeardAt ? formatAge(device.lastHeardAt, now.value) : 'never'}
            </dd>
          </div>
          <div>
            <dt>Promised sign of life</dt>
            <dd>
              {device.expectedInterval
                ? `every ${formatSpan(device.expectedInterval * 1_000)}`
                : 'none: silence proves nothing'}
            </dd>
          </div>
          <div>
            <dt>Registered</dt>
            <dd>
              {device.revokedAt
                ? `revoked ${formatAge(device.revokedAt, now.value)}`
                : device.registered
                  ? 'yes'
                  : 'no, it only reported'}
            </dd>
          </div>
          {device.capabilities && (
            <div>
              <dt>Says it is</dt>
              <dd>
                {device.capabilities.vendor} {device.capabilities.modelNumber}{' '}
                <span class="muted">{device.capabilities.serialNumber}</span>
              </dd>
            </div>
          )}
          {device.onboardedAt && (
            <div>
              <dt>Introduced itself</dt>
              <dd class="number" title={formatFull(device.onboardedAt)}>
                {formatAge(device.onboardedAt, now.value)}
              </dd>
            </div>
          )}
          {(device.manifests.length > 0 || device.manifestVersion === null) && (
            <div>
              <dt>Manifest version</dt>
              <dd class="number">{device.manifestVersion ?? 'its gateway fetches what it should run'}</dd>
            </div>
          )}
          {device.labels.map(({ key, value }) => (
            <div key={key}>
              <dt>{key}</dt>
              <dd>
                <a href={href(['devices'], { label: `${key}=${value}` })}>{value}</a>
              </dd>
            </div>
          ))}
        </dl>
        <CountsBar counts={device.deploymentCounts} label="Its deployments by state" />
      </section>
      {at.value && (
        <p class="note">What is said of a device is always the present: only its deployments have a past.</p>
      )}
      {device.children.totalCount > 0 && (
        <>
          <h2>Behind it: {plural(device.children.totalCount, 'device')}</h2>
          <DeviceTable devices={device.children.nodes} label="Devices behind it" />
        </>
      )}
      <h2>Deployments</h2>
      <FilteredDeployments scope={scope} label="Its deployments" />
      {device.manifests.length > 0 && (
        <Manifests deviceId={deviceId} manifests={device.manifests} repository={device.repository} />
      )}
      {device.capabilities && (
        <section class="panel" aria-labelledby="capabilities">
          <h2 id="capabilities">
            What it can run{' '}
            <small class="muted" title={formatFull(device.capabilities.reportedAt)}>
              as it said {formatAge(device.capabilities.reportedAt, now.value)}
            </small>
          </h2>
          {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls is reached by keyboard. */}
          <pre tabIndex={0}>{JSON.stringify(device.capabilities.document, null, 2)}</pre>
        </section>
      )}
      <section class="panel" aria-labelledby="changes">
        <h2 id="changes">
          Its last changes <a href={href(['feed'], { device: deviceId })}>live</a>
        </h2>
        {data.changes.nodes.length === 0 && <p class="empty">Nothing has happened there yet.</p>}
        <ol class="changes">
          {data.changes.nodes.toReversed().map((change) => (
            <li key={change.revision}>
              <ChangeLine change={change} />
            </li>
          ))}
        </ol>
      </section>
    </>
  )
}
