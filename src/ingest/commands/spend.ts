import type { Proof } from '../../store/signature-claims.ts'
import { type Command, spending } from '../command.ts'

/** The last command of a backlog of several commands. */
export function spend(proof: Proof): Command<null> {
  return spending({ needs: {}, decide: () => null }, proof)
}
