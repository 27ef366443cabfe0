import { render } from 'preact'
import { App } from './app.tsx'
import { showHidden } from './hidden-text.ts'

showHidden()

const root = document.getElementById('app')
if (root) render(<App />, root)
