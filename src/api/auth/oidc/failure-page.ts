/** What a person sees when a sign-in fails. It has no script, and no text from the address of the page. */

const escapes: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' }

function show(message: string): string {
  const text = message.replaceAll(/[&<>"]/g, (sign) => escapes[sign] ?? '')
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>Sign-in failed</title>
<h1>Sign-in failed</h1>
<p role="alert">${text}</p>
<p><a href="../../">Back to Rollcall</a></p>
</html>
`
}

export const failurePage = { show, headers: { 'content-type': 'text/html; charset=utf-8' } }
