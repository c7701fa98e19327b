module example.org/limited

go 1.24

require example.org/weir v0.1.0

// In a program of your own: no such line, and the module from where you keep it (docs/embedding.md).
replace example.org/weir => ../../../go
