/** A name in a list. A long one is cut in its middle: names of one fleet differ at their ends. */

const [longest, kept] = [14, 8]
const graphemes = new Intl.Segmenter(undefined, { granularity: 'grapheme' })

/** The letters of these scripts are joined, so a name is cut between its words. */
const joined = /[\p{Script=Arabic}\p{Script=Syriac}\p{Script=Nko}\p{Script=Mongolian}]/u

function cutOf(text: string, at: number): number {
  const isJoined = joined.test(text.slice(at - 1, at + 1))
  return isJoined ? text.lastIndexOf(' ', at) + 1 || at : at
}

export function Name({ children: text }: { readonly children: string }) {
  const letters = text.length > longest ? [...graphemes.segment(text)] : []
  if (letters.length <= longest) return <bdi>{text}</bdi>
  const cut = cutOf(text, letters.at(-kept)?.index ?? 0)
  return (
    <bdi class="name" title={text}>
      <span class="unseen">{text}</span>
      <span aria-hidden="true">{text.slice(0, cut)}</span>
      <span aria-hidden="true">{text.slice(cut)}</span>
    </bdi>
  )
}
