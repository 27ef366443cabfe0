/** Bytes that a change occupies in memory, roughly. Texts of devices are up to 64 KiB, so a number of changes alone bounds no memory. */
export function sizeOf(value: unknown): number {
  if (typeof value === 'string') return value.length + 16
  if (typeof value !== 'object' || value === null) return 8
  let size = 32
  for (const part of Object.values(value)) size += 8 + sizeOf(part)
  return size
}
