/** IDs of maintenance windows. They are no nodes: only callers without an access scope see a window. */
const prefix = 'MaintenanceWindow:'

export function windowId(key: number): string {
  return Buffer.from(`${prefix}${key}`).toString('base64url')
}

/** -1 is never a key. */
export function windowKeyOf(id: string): number {
  const key = Number(Buffer.from(id, 'base64url').toString().slice(prefix.length))
  return Number.isSafeInteger(key) && windowId(key) === id ? key : -1
}
