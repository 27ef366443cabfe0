/** Where the server above is, and the credential of this one. */
export interface UpstreamConfig {
  /** Without a slash at its end. */
  readonly url: string
  readonly token: string | null
  /** Paths of files in PEM. */
  readonly files: { readonly cert: string | null; readonly key: string | null; readonly ca: string | null }
}
