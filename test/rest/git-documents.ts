/** Documents for repositories. */

/** The smallest document, distinguished by `value`. */
export function documentOf(value: string, more = ''): string {
  const components = [{ name: 'main', properties: { revision: value } }]
  return `${JSON.stringify({ spec: { deploymentProfile: { type: 'helm', components } } })}\n${more}`
}
