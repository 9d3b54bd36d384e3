-- Opens a file in Neovim with gradpath, waits for a mark, applies the preferred fix, saves, and says what happened.
-- nvim --clean --headless -l mend.lua FILE CONFIGURATION
local file, configuration = arg[1], arg[2]
local patience = 20000

local function fail(what)
  io.stderr:write(what .. '\n')
  vim.cmd('cquit 1')
end

local function await(what, condition)
  if not vim.wait(patience, condition, 10) then fail('no ' .. what) end
end

vim.cmd('filetype on')
dofile(configuration)
vim.cmd.edit(vim.fn.fnameescape(file))
local buffer = vim.api.nvim_get_current_buf()

local function text() return table.concat(vim.api.nvim_buf_get_lines(buffer, 0, -1, false), '\n') end

-- What is underlined on the screen, as text.
local function underlined()
  local found = {}
  for _, mark in ipairs(vim.api.nvim_buf_get_extmarks(buffer, -1, 0, -1, { details = true })) do
    local details = mark[4]
    if (details.hl_group or ''):find('DiagnosticUnderline') then
      local lines = vim.api.nvim_buf_get_text(buffer, mark[2], mark[3], details.end_row, details.end_col, {})
      table.insert(found, table.concat(lines, '\n'))
    end
  end
  return found
end

await('diagnostic', function() return #vim.diagnostic.get(buffer) > 0 end)
await('underline', function() return #underlined() > 0 end)
local seen = {}
for _, diagnostic in ipairs(vim.diagnostic.get(buffer)) do
  table.insert(seen, {
    line = diagnostic.lnum + 1,
    code = diagnostic.code,
    source = diagnostic.source,
    message = diagnostic.message,
    related = #(diagnostic.user_data.lsp.relatedInformation or {}),
  })
end
local marks = underlined()

local first = vim.diagnostic.get(buffer)[1]
vim.api.nvim_win_set_cursor(0, { first.lnum + 1, first.col })
local client = vim.lsp.get_clients({ bufnr = buffer })[1]
local asked = vim.lsp.util.make_position_params(0, client.offset_encoding)
local answer = client:request_sync('textDocument/hover', asked, patience, buffer)
local hover = answer and answer.result and answer.result.contents.value or ''
local root = client.config.root_dir
local offered = {}
local range = { start = { line = first.lnum, character = first.col }, ['end'] = { line = first.lnum, character = first.col } }
local actions = client:request_sync('textDocument/codeAction', {
  textDocument = asked.textDocument, range = range, context = { diagnostics = {} },
}, patience, buffer)
for _, action in ipairs(actions and actions.result or {}) do table.insert(offered, action.title) end
local before = text()
vim.lsp.buf.code_action({ apply = true, filter = function(action) return action.isPreferred end })
await('fix', function() return text() ~= before end)
await('end of the diagnostic', function()
  for _, each in ipairs(vim.diagnostic.get(buffer)) do
    if each.code == first.code then return false end
  end
  return true
end)
vim.cmd.write()

local encoding = client.offset_encoding
for _, client in ipairs(vim.lsp.get_clients()) do client:stop() end
await('end of the server', function() return #vim.lsp.get_clients() == 0 end)
io.stdout:write(vim.json.encode({ seen = seen, underlined = marks, hover = hover, offered = offered, root = root, encoding = encoding, log = vim.lsp.log.get_filename() }))
vim.cmd('qa!')
