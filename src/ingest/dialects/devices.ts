/**
 * What devices send and fetch, as a dialect declares it. rest/devices/ serves it: credentials, rates and the writer are the same for all.
 * Over MQTT a report has the same format.
 */
import type { Deviation } from '../../domain/deviation.ts'
import type { DomainError, FieldProblem } from '../../domain/errors.ts'
import type { RecordedReport, StatusReport, Warning } from '../../domain/report.ts'
import type { Label } from '../../domain/target.ts'
import type { BodyRule } from '../../platform/body/rule.ts'
import type { Paced } from '../../platform/limits/pace.ts'

export type DeviceMethod =
  | { readonly does: 'report'; readonly format: ReportFormat; readonly route: ReportRoute; readonly success: 200 | 201 }
  | { readonly does: 'report many'; readonly format: BacklogFormat }
  | ({ readonly does: 'fetch' } & Fetched)
  | Onboarding
  | { readonly does: 'offboard' }
  /** Sends the authority of the server's certificate, to any client. */
  | { readonly does: 'show authority' }
  | Describing
  | { readonly does: 'withdraw description'; readonly reporter: string | null; readonly deviceId: string }

/** What the request line, or the topic, states about a report. */
export interface ReportRoute {
  /** Null: only the body names it (an item of a backlog). */
  readonly deploymentId: string | null
  /** The device or client in the path or in the credential. Null: there is none, so the body's deviceId names it. */
  readonly reporter: string | null
  readonly requiresVersion: boolean
}

export interface ReportFormat {
  readonly media: readonly string[]
  /** Bytes. */
  readonly limit: number
  /** Throws INVALID_REQUEST, TOO_LARGE, or SEMANTIC_ERROR with all problems. */
  read(body: Uint8Array, contentType: string | undefined, route: ReportRoute): Promise<StatusReport>
  /** How it deviates from the specification of its format. */
  deviationsOf(report: StatusReport): readonly Deviation[]
  deviationsOfRefusal(problems: readonly FieldProblem[]): readonly Deviation[]
  isNonConforming(report: StatusReport): boolean
  /** The body of the response. */
  acknowledge(outcome: RecordedReport): object
}

export interface BacklogFormat {
  readonly media: readonly string[]
  /** Bytes. */
  readonly limit: number
  /** Of each item. */
  readonly reports: ReportFormat
  /** `credential`: the client that the request's credential names. Throws what is wrong with the whole body. */
  read(body: Uint8Array, contentType: string | undefined, credential: string | null): Paced<readonly BacklogItem[]>
  /** The result of one item in the response. */
  resultOf(outcome: RecordedReport): object
}

export type BacklogItem =
  | {
      readonly ok: true
      readonly reporter: string
      /** Bytes of its text. */
      readonly size: number
      /** The report. A large backlog parses it again each time: all reports at once take ten times the memory of their text. */
      readonly read: () => StatusReport
    }
  | { readonly ok: false; readonly error: DomainError }

/** Which part of its desired state a device asks for. */
export type Fetched = {
  /** The path's client. Null: the credential identifies the caller. */
  readonly clientId: string | null
  /** The start of the URLs in a manifest that is requested here. */
  readonly base: string
} & (
  | { readonly kind: 'manifest' }
  | { readonly kind: 'document'; readonly deploymentId: string; readonly digest: string }
  | { readonly kind: 'bundle'; readonly digest: string }
)

/** The form of desired state. The digest of a bundle is stored when its documents are declared, so all devices of a server have one form. */
export interface DesiredFormat {
  readonly manifestType: string
  readonly bundleType: string
  readonly documentType: string
  /** `base`: the start of the URLs. The same input always gives the same bytes. */
  createManifest(manifest: Manifest, base: string): { readonly bytes: Buffer; readonly etag: string }
  /** The same documents always give the same bytes. */
  createBundle(documents: readonly BundledDocument[]): Buffer
}

export interface Manifest {
  /** Decimal digits: it may exceed a double. */
  readonly version: string
  readonly deployments: readonly (Artifact & { readonly deploymentId: string })[]
  /** Null if and only if there are no deployments. */
  readonly bundle: Artifact | null
}

export interface Artifact {
  readonly digest: string
  /** Bytes. Null: not stated. */
  readonly size: number | null
}

export interface BundledDocument {
  readonly deploymentId: string
  readonly content: string
}

interface Onboarding {
  readonly does: 'onboard'
  readonly body: BodyRule
  /** `certificate`: as sent. Null: there is none. */
  readCertificate(body: unknown): { readonly certificate: string | null; readonly deviations: readonly Deviation[] }
}

/** A device, or a gateway for a device behind it, sends what it can run. */
interface Describing {
  readonly does: 'describe'
  readonly body: BodyRule
  /** The path's device or client. Null: the credential identifies the caller. */
  readonly reporter: string | null
  /** The device that the capabilities describe. Null: the reporter. */
  readonly deviceId: string | null
  /** The generation of the route, as `margo/2025-08`. */
  readonly generation: string
  /** Whether a status of 201 is only for the first description of a device. Otherwise it is for all. */
  readonly showsFirst: boolean
  /** `sent`: the bytes of the body. Throws INVALID_REQUEST, or SEMANTIC_ERROR with all problems. */
  read(
    body: unknown,
    sent: Uint8Array,
  ): {
    readonly id: string
    readonly labels: readonly Label[]
    readonly warnings: readonly Warning[]
    readonly deviations: readonly Deviation[]
  }
  /** The body of the response. */
  readonly acknowledgement: object
}
