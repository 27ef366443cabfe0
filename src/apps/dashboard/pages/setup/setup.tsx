/** Set-up for the roles that may: devices, alert rules, receivers of notifications, API keys. The API refuses everyone else anyway. */
import type { ComponentType } from 'preact'
import { session } from '../../data/api.ts'
import { graphql } from '../../data/graphql.ts'
import { formatAge, formatFull, now } from '../../data/time.ts'
import { useAnswer } from '../../data/use-query.ts'
import { isAdmin, isOperator } from '../../data/viewer.ts'
import { href } from '../../route.ts'
import { useTitle } from '../../widgets/tab.ts'
import { AlertRules } from './alert-rules.tsx'
import { ApiKeys } from './api-keys.tsx'
import { MaintenanceWindows } from './maintenance.tsx'
import { Receivers } from './receivers.tsx'
import { RegisterDevice } from './register-device.tsx'

interface Part {
  readonly title: string
  readonly part: ComponentType
  readonly isForAdmins?: boolean
}

const parts: Readonly<Record<string, Part>> = {
  devices: { title: 'Register a device', part: RegisterDevice },
  maintenance: { title: 'Maintenance', part: MaintenanceWindows },
  'alert-rules': { title: 'Alert rules', part: AlertRules },
  notifications: { title: 'Notifications', part: Receivers },
  'api-keys': { title: 'API keys', part: ApiKeys, isForAdmins: true },
}

export function SetupPage({ steps: [name = 'devices'] }: { readonly steps: readonly string[] }) {
  const chosen = parts[name]
  const mayRead = ({ isForAdmins = false }: Part): boolean => (isForAdmins ? isAdmin : isOperator).value
  useTitle(chosen ? `${chosen.title} · Set-up` : null)
  if (session.value === null) return <h1>Set-up</h1>
  return (
    <>
      <h1>Set-up</h1>
      {isOperator.value && <LastBackup />}
      {isOperator.value && (
        <nav class="tabs" aria-label="Parts of the set-up">
          {Object.entries(parts)
            .filter(([, part]) => mayRead(part))
            .map(([key, { title }]) => (
              <a key={key} href={href(['setup', key])} aria-current={key === name ? 'page' : undefined}>
                {title}
              </a>
            ))}
        </nav>
      )}
      {chosen && mayRead(chosen) ? (
        <chosen.part />
      ) : (
        <p class="empty">
          {chosen
            ? `This part requires the role ${chosen.isForAdmins ? 'admin' : 'operator'} for the whole fleet.`
            : 'There is no such part of the set-up.'}
        </p>
      )}
    </>
  )
}

const lastBackupDocument = graphql(`query LastBackup { lastBackup { at revision } }`)

function LastBackup() {
  const backup = useAnswer(lastBackupDocument, {}).data?.lastBackup
  if (!backup) return null
  return (
    <p class="muted">
      Last backup: <span title={formatFull(backup.at)}>{formatAge(backup.at, now.value)}</span>, up to revision{' '}
      <span class="number">{backup.revision}</span>.
    </p>
  )
}
