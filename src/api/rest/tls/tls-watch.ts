/**
 * Replaces certificates while the server runs. It reads their files every few seconds, and immediately on SIGHUP. A file system watch was
 * rejected: it emits no events on network folders, and it follows the wrong file after a symbolic link is replaced, as in Kubernetes volumes.
 *
 *   unchanged, or partly written ──▶ no change; the previous files stay in use
 *   complete and new             ──▶ new connections use them
 *   unusable in two checks       ──▶ one warning; the previous files stay in use
 */

import type { SecureVersion } from 'node:tls'
import { ConfigError } from '../../../platform/config-error.ts'
import type { Log } from '../../../platform/log/log.ts'
import { certificatesIn, readTls, type TlsConfig, type TlsFiles } from './tls-files.ts'

export interface TlsWatch {
  readonly minVersion: SecureVersion
  /** The files in use. */
  files(): TlsFiles
  /** Calls back after a replacement, with the new and the previous files. */
  follow(take: (files: TlsFiles, before: TlsFiles) => void): void
  /** Checks the files immediately, and logs the result. */
  reload(): Promise<void>
  /** Days until the first certificate of each file expires. Negative after that. */
  daysLeft(): readonly { readonly file: CertificateFile; readonly days: number }[]
  close(): void
}

type CertificateFile = 'TLS_CERT' | 'TLS_CLIENT_CA'

interface TlsWatchDeps {
  readonly config: TlsConfig
  readonly log: Log
  readonly clock: () => number
  /** Milliseconds between checks. */
  readonly interval?: number | undefined
}

const day = 86_400_000

/** Throws a ConfigError when the files cannot be used at the start. */
export async function watchTls({ config, log, clock, interval = 5_000 }: TlsWatchDeps): Promise<TlsWatch> {
  let files = await readTls(config)
  const followers: ((files: TlsFiles, before: TlsFiles) => void)[] = []
  const warned = new Set<string>()
  /** The problem of the last check, and whether the log has it. */
  let unusable: { readonly message: string; readonly isLogged: boolean } | null = null
  let checking = Promise.resolve()

  function certificates() {
    return (
      [
        ['TLS_CERT', files.cert],
        ['TLS_CLIENT_CA', files.clientCa],
      ] as const
    ).flatMap(([file, pem]) => (pem === null ? [] : [{ file, list: certificatesIn(pem) }]))
  }

  function warnOfDates(): void {
    const now = clock()
    for (const { file, list } of certificates())
      for (const { subject, fingerprint256, validFromDate, validToDate } of list) {
        const isEarly = now < validFromDate.getTime()
        if ((!isEarly && now <= validToDate.getTime()) || warned.has(`${file} ${fingerprint256}`)) continue
        warned.add(`${file} ${fingerprint256}`)
        const when = isEarly
          ? `is not valid before ${validFromDate.toISOString()}`
          : `expired on ${validToDate.toISOString()}`
        const owner = subject.replaceAll('\n', ', ')
        log.warn({ file }, `${file}: the certificate of ${owner} ${when}: clients that verify it refuse it. Replace it`)
      }
  }

  async function check(isAsked: boolean): Promise<void> {
    try {
      const found = await readTls(config)
      unusable = null
      if (found.cert !== files.cert || found.key !== files.key || found.clientCa !== files.clientCa) {
        const before = files
        files = found
        for (const take of followers) take(files, before)
        log.info({ daysLeft: daysLeft() }, 'the certificates of TLS were replaced')
      } else if (isAsked) log.info('the files of TLS have not changed')
    } catch (error) {
      if (!(error instanceof ConfigError)) throw error
      const { message, problems } = error
      const isRepeated = unusable?.message === message
      const isLogged = isRepeated && unusable?.isLogged === true
      const mustLog = isAsked || (isRepeated && !isLogged)
      if (mustLog) log.warn({ problems }, 'the files of TLS cannot be used: the previous files stay in use')
      unusable = { message, isLogged: isLogged || mustLog }
    }
    warnOfDates()
  }

  function enqueue(isAsked: boolean): Promise<void> {
    checking = checking
      .then(() => check(isAsked))
      .catch((error) => log.error({ error }, 'the files of TLS could not be read'))
    return checking
  }

  function daysLeft() {
    return certificates().map(({ file, list }) => {
      const end = Math.min(...list.map(({ validToDate }) => validToDate.getTime()))
      return { file, days: Math.round(((end - clock()) / day) * 100) / 100 }
    })
  }

  warnOfDates()
  const timer = setInterval(() => void enqueue(false), interval).unref()
  return {
    minVersion: config.minVersion ?? 'TLSv1.2',
    files: () => files,
    follow: (take) => void followers.push(take),
    reload: () => enqueue(true),
    daysLeft,
    close: () => clearInterval(timer),
  }
}
