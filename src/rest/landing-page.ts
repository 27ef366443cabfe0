/** What a browser shows at /. */
export const landingPage = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>Rollcall</title>
<style>
  :root { color-scheme: light dark; font: 16px/1.6 system-ui, sans-serif }
  body { max-width: 42rem; margin: 4rem auto; padding: 0 1rem }
  pre { padding: 1rem; overflow-x: auto; border: 1px solid color-mix(in srgb, currentColor 25%, transparent); border-radius: .5rem }
</style>
<main>
  <h1>Rollcall</h1>
  <p>The live status service of an edge fleet. Devices report, people ask and watch, and nobody misses a change.</p>
  <ul>
    <li><a href="/graphql">GraphiQL</a>: ask and watch, with an example that works</li>
    <li><a href="/metrics">Metrics</a> and <a href="/readyz">readiness</a></li>
  </ul>
  <p>A first report:</p>
  <pre>curl -X POST -H 'Content-Type: application/json' \\
  -d '{"deploymentId":"hello","status":{"state":"installing"},"components":[{"name":"web","state":"installing"}]}' \\
  <span id="origin">http://127.0.0.1:4000</span>/device/edge-1/deployment/hello/status</pre>
</main>
<script>document.getElementById('origin').textContent = location.origin</script>
</html>
`
