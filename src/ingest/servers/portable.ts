/** Serialized commands, which one server can hand over to another. Nearly all commands of a fleet have this form. */
import { type Command, type Portable, spending, traced } from '../command.ts'
import { hearDevices } from '../commands/connectivity.ts'
import { countDeviations, recordReport } from '../commands/report.ts'

export function toCommand(portable: Portable): Command<unknown> {
  const command = traced(build(portable), portable.traceparent ?? null)
  return portable.proof ? spending(command, portable.proof) : command
}

function build(portable: Portable): Command<unknown> {
  switch (portable.kind) {
    case 'report':
      return recordReport(portable.report, portable.caller, portable.deviations)
    case 'hear':
      return hearDevices(portable.names)
    case 'countDeviations':
      return countDeviations(portable.device, portable.deviations)
    default: {
      const unknown: never = portable
      throw new Error(`unknown command ${JSON.stringify(unknown)}`)
    }
  }
}
