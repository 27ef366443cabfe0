/** A name in a list. A long one is cut in its middle: names of one fleet differ at their ends. */

const [longest, kept] = [14, 8]
const graphemes = new Intl.Segmenter(undefined, { granularity: 'grapheme' })

export function Name({ children: text }: { readonly children: string }) {
  const letters = text.length > longest ? [...graphemes.segment(text)] : []
  if (letters.length <= longest) return <bdi>{text}</bdi>
  const cut = letters.at(-kept)?.index ?? 0
  return (
    <bdi class="name" title={text}>
      <span class="unseen">{text}</span>
      <span aria-hidden="true">{text.slice(0, cut)}</span>
      <span aria-hidden="true">{text.slice(cut)}</span>
    </bdi>
  )
}
