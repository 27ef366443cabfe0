/**
 * Shows hidden characters of IDs, names and messages as escapes, in all text of the page and in the attributes that are shown or read aloud. The
 * alternative was a call at each place that shows a text: a browser shows an attribute with no markup, so <bdi> cannot isolate it, and the one place
 * without the call would be the one that deceives. Values of form fields stay exact.
 */
import { options, type VNode } from 'preact'
import { escapeHidden } from '../../domain/look-alike.ts'

const attributes = [
  'title',
  'aria-label',
  'aria-description',
  'aria-valuetext',
  'alt',
  'placeholder',
  'label',
  'data-attempt',
]

/** Preact calls it with each element before it is drawn, and with each text, which has no type. */
export function showHidden(): void {
  const next = options.vnode
  options.vnode = (node: VNode<unknown>) => {
    if (typeof node.props === 'string') Object.assign(node, { props: escapeHidden(node.props) })
    else if (typeof node.type === 'string') escapeAttributes(node.props as Record<string, unknown>)
    next?.(node as VNode)
  }
}

function escapeAttributes(props: Record<string, unknown>): void {
  for (const name of attributes) {
    const text = props[name]
    if (typeof text === 'string') props[name] = escapeHidden(text)
  }
}
