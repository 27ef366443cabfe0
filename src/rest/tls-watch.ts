/**
 * Certificates are replaced while the server runs: their files are read again every few seconds, and at once on SIGHUP. They are read,
 * not watched: a watch of the file system is silent on network folders, and follows the wrong file where a name is a link that is
 * exchanged, as in volumes of Kubernetes.
 *
 *   unchanged, or half written ──▶ nothing; those before stay in use
 *   whole and new              ──▶ used for connections from now on
 *   unusable at two looks      ──▶ a warning, once; those before stay in use
 */
import { ConfigError, type TlsConfig } from '../config.ts'
import type { Log } from '../log.ts'
import { certificatesIn, readTls, type TlsFiles } from './tls.ts'

export interface TlsWatch {
  /** Those in use. */
  files(): TlsFiles
  /** Calls back with those that are in use from now on, and those before. */
  follow(take: (files: TlsFiles, before: TlsFiles) => void): void
  /** Looks at once, and says what it found. */
  reload(): Promise<void>
  /** Of each file, until the first of its certificates expires; less than 0 after that. */
  daysLeft(): readonly { readonly file: CertificateFile; readonly days: number }[]
  close(): void
}

export type CertificateFile = 'TLS_CERT' | 'TLS_CLIENT_CA'

export interface TlsWatchDeps {
  readonly config: TlsConfig
  readonly log: Log
  readonly clock: () => number
  /** Milliseconds between two looks. */
  readonly interval?: number | undefined
}

const day = 86_400_000

/** Throws a ConfigError when the files cannot be used at the start. */
export async function watchTls({ config, log, clock, interval = 5_000 }: TlsWatchDeps): Promise<TlsWatch> {
  let files = await readTls(config)
  const followers: ((files: TlsFiles, before: TlsFiles) => void)[] = []
  const warned = new Set<string>()
  /** What was wrong at the last look, and whether it was warned of. */
  let unusable: { readonly message: string; readonly isTold: boolean } | null = null
  let looking = Promise.resolve()

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
          ? `is not good before ${validFromDate.toISOString()}`
          : `has expired on ${validToDate.toISOString()}`
        const whose = subject.replaceAll('\n', ', ')
        log.warn({ file }, `${file}: the certificate of ${whose} ${when}: whoever checks it refuses it, replace it`)
      }
  }

  async function look(isAsked: boolean): Promise<void> {
    try {
      const found = await readTls(config)
      unusable = null
      if (found.cert !== files.cert || found.key !== files.key || found.clientCa !== files.clientCa) {
        const before = files
        files = found
        for (const take of followers) take(files, before)
        log.info({ daysLeft: daysLeft() }, 'the certificates of TLS were replaced')
      } else if (isAsked) log.info('the files of TLS are those that are in use')
    } catch (error) {
      if (!(error instanceof ConfigError)) throw error
      const { message, problems } = error
      const isRepeated = unusable?.message === message
      const isTold = isRepeated && unusable?.isTold === true
      const isToTell = isAsked || (isRepeated && !isTold)
      if (isToTell) log.warn({ problems }, 'the files of TLS cannot be used: those before stay in use')
      unusable = { message, isTold: isTold || isToTell }
    }
    warnOfDates()
  }

  function enqueue(isAsked: boolean): Promise<void> {
    looking = looking.then(() => look(isAsked)).catch((error) => log.error({ error }, 'the files of TLS were not read'))
    return looking
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
    files: () => files,
    follow: (take) => void followers.push(take),
    reload: () => enqueue(true),
    daysLeft,
    close: () => clearInterval(timer),
  }
}
