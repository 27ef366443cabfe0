/** The maintenance windows of a unit of work. The commands write their rows (Command.statements). */
import type { MaintenanceWindow } from '../../domain/maintenance.ts'
import type { LoadedMaintenance } from '../../store/write/contract.ts'

export interface MaintenanceRows {
  /** Windows that have not ended. */
  count(): number
  of(key: number): MaintenanceWindow | null
  put(window: MaintenanceWindow): void
}

export const noMaintenance: LoadedMaintenance = { count: 0, windows: [] }

export function createMaintenanceRows(loaded: LoadedMaintenance): MaintenanceRows {
  const windows = new Map(loaded.windows.map((window) => [window.key, window]))
  const lasts = (window: MaintenanceWindow | undefined): number =>
    Number(window !== undefined && window.endedRevision === null && window.nextAt !== null)
  let { count } = loaded
  return {
    count: () => count,
    of: (key) => windows.get(key) ?? null,
    put(window) {
      count += lasts(window) - lasts(windows.get(window.key))
      windows.set(window.key, window)
    },
  }
}
