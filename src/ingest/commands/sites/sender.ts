/** The server of a site that sends: the key of its target, and its path. */
export interface Sender {
  readonly key: number
  readonly path: string
}
