/** A device's client: what is not a 2xx or "come again later" is a fault. */
import type { ReportOutcome } from '../../../src/domain/report.ts'
import type { Send } from './fleet.ts'

export const sendOver =
  (address: () => Promise<string>): Send =>
  async ({ reporter, deploymentId, state, components, seq, boot }) => {
    const body = {
      deploymentId,
      status: { state: state.toLowerCase() },
      components: components.map((component) => ({ name: component.name, state: component.state.toLowerCase() })),
      rollcall: { seq, boot },
    }
    const answer = await post(`${await address()}/device/${reporter}/deployment/${deploymentId}/status`, body)
    if (answer === null) return null
    const { status, text } = answer
    if (status === 503) return null
    if (status !== 200 && status !== 201) throw new Error(`${status}: ${text}`)
    const { verdict, revision, staleBy }: Record<string, string> = JSON.parse(text)
    return { verdict, revision: Number(revision), ...(staleBy ? { staleBy } : {}) } as ReportOutcome
  }

/** Null: there was no answer, or no complete one. */
async function post(url: string, body: object): Promise<{ readonly status: number; readonly text: string } | null> {
  try {
    const headers = { 'content-type': 'application/json' }
    const response = await fetch(url, { method: 'POST', headers, body: JSON.stringify(body) })
    return { status: response.status, text: await response.text() }
  } catch {
    return null
  }
}
